"""What reaches out to the web: which addresses, by which client, to read or to search.

bounded_decompression  decompression that cannot explode: every step gives a bounded piece, and the whole has a limit
service                asking a service that the program named: an answer of bounded size, and errors a model can read
client                 getting a page that the model named, from nowhere it must not reach
search_backends        who searches the web for `WebSearchTool` where no provider does
fetch                  read a page of the web: its text as Markdown, or the picture it is
search                 search the web: by the provider that can, else by a service of your choice
"""
