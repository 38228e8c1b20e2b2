"""Searching documents: texts become passages, passages a store, the store is asked.

hidden_html    text of a page that nobody sees: taken out, and counted
document_text  bytes of any kind as text: HTML, Markdown, PDF, plain text and code
terms          what a text is found by: its words, in one spelling, in any script
chunks         cutting a text into passages that can be found and read by themselves
filters        which files are searched: comparisons of their attributes, joined by and / or
embeddings     meaning as numbers: vectors of texts, from any server with a ``/v1/embeddings`` endpoint
vector_store   a searchable set of texts in one SQLite file: words by FTS5, meaning by vectors if there are any
ranking        which passages of a vector store answer a question best
indexing       putting a folder into a vector store, and keeping it there: only what changed is read again
by_name        file search by names alone, as the command line has them
file_search    search in documents: in stores of this machine, or of the provider that hosts them
"""
