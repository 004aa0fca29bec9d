"""Files that are no PDF: read into pieces, and typeset once as a PDF in which every piece knows its box.

From there on such a file is a document like any other: its pages are drawn, cited and lit. `kinds` says what a file is;
`word`, `slides`, `sheets`, `web`, `plain` and `pictures` read one family each; `typeset` sets pages; `view` keeps them.
"""
