"""Files below one root: opened safely, listed, searched, read and changed.

open_beneath         open what lies beneath a folder, and nothing else
line_window          a part of a text file, by line and column, with the totals of the whole
encodings            text files that are not UTF-8: which encoding they are in, so that they stay as they are
linear_regex         regular expressions of models and of strange files, decided in linear time
impossible_patterns  patterns that can never match, since text is searched line by line
walk                 the files below a folder that a search looks at: not those that ``.gitignore`` names
ripgrep              ask ripgrep, if it is there, which files of a tree may hold a match
find                 find files below a root by their names
grep                 search text files below a root for lines that match a pattern
atomic_replace       replace a file below a root in one step: whoever looks sees the old content or the new one
similar_passage      the passage most like one that was not found, and where they differ
indentation          find whole lines at another indentation
edit                 replace passages of a text, leaving every other byte as it is
changed_since_read   what a model has seen of files: what was changed since is read again first
preview              what a call would change in a file, for the person who is asked: a difference, or why not
file_tools           read files, list folders and search text below one folder, without changing anything
workspace            a folder to work in: read, write, edit, bash, grep, find and ls; protected files (.git/hooks) ask first
apply_patch          ``apply_patch``, as OpenAI's models are trained on it, run here, on any model
"""
