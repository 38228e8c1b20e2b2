"""Access to the web: which addresses, with which client, to read or to search.

bounded_decompression  decompression in limited steps and with a limit in total
service                requests to services that the program names
client                 requests to pages a model names: redirects, credentials, limits (hosts: sandbox/reachable_hosts)
search_backends        search services for `WebSearchTool` where the provider has none
fetch                  reading a page: its text as Markdown, or a picture
search                 `WebSearchTool`: when the provider searches, and when a service of your choice
"""
