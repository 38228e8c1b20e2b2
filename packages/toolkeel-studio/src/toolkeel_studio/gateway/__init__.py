"""Many MCP servers behind one, for any host (gateway): ``toolkeel gateway mcp.json``.

public_names       names that cannot collide: what clients call a tool, and whose it is
audit              who called what and how it ended, as lines of JSON
policy             who may call what, how often, and who is asked: a file of rules
ledger             what is known of each client from call to call: how often it called, what it has read
cache              results that are kept for a while, of tools that only read
server_connection  one connection to a server, the calls that run on it, and what the server asks meanwhile
upstream_pool      the servers: listed, waited for with measure, tried again when they fail
upstream           one server behind the gateway, spoken to in plain JSON; one connection for all, or for each
status             what is down since when and why, and who calls what: for hosts and people
routes             what is offered at one time: every thing of every server, under the name clients know
changes            what servers say has changed, told on to the clients at a pace that no server sets
approve            a person's word before a call is sent: by a form in the host, and beside it
client_call        one call as a client sends it, and as its server gets it
calls              one call of a client: judged on the JSON it came as, sent, written down
raw_calls          calls of a client over stdio, from line to line, without models
search             finding tools where there are too many to list
gateway            the server that clients see
http               the gateway over HTTP: a token for each client
reload             reading the file of servers again when it changes, without dropping anybody (reload)
"""
