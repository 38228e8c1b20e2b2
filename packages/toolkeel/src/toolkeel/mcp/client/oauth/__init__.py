"""Logins to servers on the network (OAuth 2.1).

token_storage  a stored login, in the keyring if it is safe, else in a file; one process at a time renews it
browser        the login page in a browser; its answer comes to a port (which: login), or is pasted
oauth_flow     the SDK's login with concurrent requests, refresh before login, and restored token endpoints
service_login  login of a program, without a person: client credentials, by a secret or a signed assertion
login          `OAuth`, what `MCPServer(auth=)` takes: default port, a file of its own, limit
"""
