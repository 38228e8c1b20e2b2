"""Logins to servers on the network (OAuth 2.1).

token_storage  stored logins, in the system's keyring or a file; one process at a time renews a login
browser        the login page in a browser: the answer arrives at a local port, or a person pastes it
oauth_flow     the SDK's login with concurrent requests, refresh before login, and restored token endpoints
service_login  login of a program, without a person: client credentials, by a secret or a signed assertion
login          `OAuth`: what a program passes as `auth` to `MCPServer`
"""
