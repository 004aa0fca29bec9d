"""How runs of the same question differ, and what each technique bought: arithmetic over their records."""
