"""Access to the web: which addresses, with which client, to read or to search.

bounded_decompression  decompression in limited steps and with a limit in total
service                requests to services that the program names
client                 requests to pages that the model names, to allowed hosts only
search_backends        search services for `WebSearchTool` where the provider has none
fetch                  reading a page: its text as Markdown, or a picture
search                 searching the web: by the provider, else by a service of your choice
"""
