"""Interfaces for people and programs: command line, servers, pages, gateway.

cli              the command ``toolkeel``, with chat and doctor
serve            sessions of an agent for front ends, all through one channel
inspector        pages to try tools, watch runs, approve and compare
gateway          many MCP servers behind one, with rules
durable          runs that outlive their worker, on DBOS
ray              an executor: the nodes of a Ray cluster
evals            cases, trials and reports: does a model call these tools right?
markdown_html    Markdown of models as HTML in which nothing runs
notebook         runs and results as HTML
weather          the example tool: current weather from a public service
weather_fixture  a stand-in for that service, on loopback
"""
