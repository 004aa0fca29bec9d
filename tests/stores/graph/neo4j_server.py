"""A real Neo4j Community for the tests: fetched through Maven once, into the user's cache; started on loopback."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import neo4j
import pytest

VERSION = "5.26.0"
_FETCH_S, _START_S = 100, 100
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>ragscope</groupId><artifactId>neo4j</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang", "java.util.concurrent")


def libraries(cache: Path) -> Path:
    """The folder with Neo4j's jars; skips the test where they cannot be had."""
    folder = cache / f"neo4j-{VERSION}"
    if folder.exists():
        return folder
    if not shutil.which("mvn"):
        pytest.skip("Maven is not installed: Neo4j cannot be fetched")
    work = folder.with_name(f"{folder.name}.{os.getpid()}")
    work.mkdir(parents=True)
    try:
        (work / "pom.xml").write_text(_POM)
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"]
        subprocess.run(command, cwd=work, check=True, timeout=_FETCH_S, capture_output=True)
        (work / "lib").rename(folder)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"Maven could not fetch Neo4j: {error}")
    finally:
        shutil.rmtree(work)
    return folder


@contextmanager
def started(cache: Path, home: Path) -> Iterator[str]:
    """Start a server of its own in `home`; gives its address."""
    java = shutil.which("java")
    if not java or _java_version(java) < 17:
        pytest.skip("Java 17 is not installed: Neo4j cannot be started")
    jars = libraries(cache)
    port = _free_port()
    (home / "conf").mkdir(parents=True)
    (home / "conf" / "neo4j.conf").write_text(
        f"""\
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.memory.pagecache.size=32m
"""
    )
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    flags = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *opened]
    main = ["org.neo4j.server.CommunityEntryPoint", f"--home-dir={home}", f"--config-dir={home / 'conf'}"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen([java, *flags, "-cp", f"{jars}/*", *main], stdout=log, stderr=log)
    try:
        _wait(server, f"bolt://127.0.0.1:{port}", home / "log")
        yield f"bolt://127.0.0.1:{port}"
    finally:
        server.kill()  # it takes seconds to end in order, and nothing of it is kept
        server.wait()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with neo4j.GraphDatabase.driver(address, connection_timeout=2) as driver:
                driver.verify_connectivity()
                return
        except (neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError, OSError):
            time.sleep(0.2)
    pytest.fail(f"Neo4j did not start: {log.read_text()[-2000:]}")


def _java_version(java: str) -> int:
    told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
