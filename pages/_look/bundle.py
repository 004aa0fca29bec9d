"""The modules of the look as one script, for a page that no server stands behind.

A file that is opened from a disk may not import modules. Each becomes a function that gives what it exports, in the
order in which they need each other; the names in between are taken from those.
"""

from __future__ import annotations

import re

from pages._look.files import look_file

_IMPORT = re.compile(r'^import (?:(?P<whole>\w+)|\{(?P<names>[^}]*)\}) from "\./(?P<module>\w+)\.js";$', re.M)
_EXPORT = re.compile(
    r"^export (?P<default>default )?(?P<rest>(?:async )?(?:function|class|const|let) (?P<name>\w+))", re.M
)


def bundled(entry: str) -> str:
    """The module of that name with all that it imports, as one script."""
    written: dict[str, str] = {}

    def write(module: str) -> None:
        if module in written:
            return
        found = look_file(f"{module}.js")
        assert found is not None, f"there is no module {module}"
        source, _ = found
        for needed in _IMPORT.finditer(source):
            write(needed["module"])
        written[module] = _as_function(module, source)

    write(entry)
    return "\n".join(written.values())


def _as_function(module: str, source: str) -> str:
    given = [f"default: {one['name']}" if one["default"] else one["name"] for one in _EXPORT.finditer(source)]
    body = _EXPORT.sub(lambda one: one["rest"], _IMPORT.sub(_taken, source))
    return f"const look_{module} = (() => {{\n{body}\nreturn {{ {', '.join(given)} }};\n}})();"


def _taken(one: re.Match[str]) -> str:
    names = f"default: {one['whole']}" if one["whole"] else one["names"].strip().replace(" as ", ": ")
    return f"const {{ {names} }} = look_{one['module']};"
