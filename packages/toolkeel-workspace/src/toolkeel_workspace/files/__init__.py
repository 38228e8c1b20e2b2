"""Files below one root: opened safely, listed, searched, read and changed.

relative_path        paths that a model writes, with plain components below the root
open_beneath         opening what is beneath a folder, and nothing else
line_window          a part of a text file by line and column, with the file's totals
binary_kind          what a file is that is no text, by its first bytes
encodings            text files in other encodings than UTF-8
patterns             regular expressions that a model writes
walk                 the files below a folder that a search visits, without those ``.gitignore`` names
ripgrep              finding candidate files with ripgrep, if it is installed
find                 finding files by name
not_searched         what a search of files did not look into
grep                 searching files for lines that match a pattern
atomic_replace       replacing a file in one step
passages             passages that a model quotes, not always exactly
edit                 replacing passages of a text, leaving every other byte as it is
changed_since_read   snapshots of read files, to detect changes by others
content_changes      how a call changes a file's content, and what is said of what it replaced
preview              a preview of a call's change for the approver
protected_writes     which writes need approval whatever rules allow: those of protected files
file_tools           tools that read: read, ls, grep
workspace            tools for a folder to work in: read, write, edit, bash, grep, find, ls
patch_hunks          the text of a patch: its hunks, and the headers that name its file
apply_patch          ``apply_patch``, as OpenAI's models know it, with any model
"""
