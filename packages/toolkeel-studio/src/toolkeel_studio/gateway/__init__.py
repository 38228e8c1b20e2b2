"""Many MCP servers behind one, for any host (gateway): ``toolkeel gateway mcp.json``.

public_names       unique names of tools and URIs for clients, and the server of each
audit              who called what and how it ended, as lines of JSON
policy             the file of rules as data: who may call, how often, with which approval (enforced in `calls`)
ledger             what each client has called and read: counts for limits, labels for taint
cache              cached results as they are stored, and how many (which calls, for which client, when stale: `calls`)
server_connection  one connection to a server, its calls and the server's questions
upstream_pool      the servers: listing with time limits, retries after failures
upstream           one server: when its clients share one process, and when each gets its own
status             failures of servers, clients and rules that fired, for hosts and people
status_files       the state of the running gateways in files, for people
routes             everything that is offered now, by the names that clients use
changes            change notifications of servers, passed on to clients with a rate limit
approve            approval of a call by a person: in a form of the host, or beside it
client_call        one call in the client's and in the server's form
calls              one call of a client: rules, limits, cache and taint enforced; sent, audited; the cache made stale
raw_calls          calls over stdio as plain JSON lines
search             search for tools, where there are too many to list
gateway            the server that clients see
http               the gateway over HTTP: a token for each client, which ends here
reload             reload of the changed file of servers without disconnecting clients
"""
