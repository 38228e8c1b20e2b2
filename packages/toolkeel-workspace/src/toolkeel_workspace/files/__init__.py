"""Files below one root: opened safely, listed, searched, read and changed.

relative_path        which paths of a model are accepted, as plain components below the root
open_beneath         opening what is beneath a folder, and nothing else
line_window          most lines and bytes shown at once (bash too); where a shown file continues
binary_kind          what a file is that is no text, by its first bytes
encodings            which encoding a file is read in, and when new characters may be written in it
patterns             regular expressions that a model writes
walk                 the files below a folder that a search visits, without those ``.gitignore`` names
ripgrep              finding candidate files with ripgrep, if it is installed
find                 finding files by name
not_searched         what a search of files did not look into
grep                 searching files for lines that match a pattern
atomic_replace       replacing a file in one step, unless it is protected or has changed meanwhile
passages             passages that a model quotes, not always exactly
edit                 which passages an edit replaces, exactly or leniently, leaving every other byte as it is
changed_since_read   which files must be read, or read again, before they are changed (snapshots)
content_changes      the new content of a file, and what the result says about the content it replaced
preview              what the approver is shown of a change: a diff, or why there is none
protected_writes     which writes need approval whatever rules allow (which files: sandbox/protected_files)
file_tools           tools that read: read, ls, grep
workspace            `Workspace` and its options: read, write, edit, bash, grep, find, ls in one folder
patch_hunks          the text of a patch: its hunks, and the headers that name its file
apply_patch          ``apply_patch``, as OpenAI's models know it, with any model
"""
