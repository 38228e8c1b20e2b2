"""Searching documents: texts are split into passages, passages are stored, the store is searched.

hidden_html     removing text of a page that people cannot see
document_text   text of HTML, Markdown, PDF, plain text and code files
chunks          splitting a text into passages
filters         filters on file attributes: comparisons joined by and / or
embeddings      vectors of texts, from any server with a ``/v1/embeddings`` endpoint
stores          the protocol of a store, whichever engine it uses
vector_store    a store in one SQLite file: words by FTS5, meaning by vectors
postgres_store  a store in PostgreSQL: words in a table, meaning by pgvector's index
qdrant_store    a store in Qdrant: words as sparse vectors, meaning as dense ones
open_store      opening the store of a name, a path or an address
ranking         the passages of a store that best answer a query
indexing        updating a store from a folder: only changed files are read again
by_name         the file search tool by names alone, for the command line
file_search     the file search tool: stores of this machine, or of the provider
"""
