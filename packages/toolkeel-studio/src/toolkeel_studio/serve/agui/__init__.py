"""The Agent-User Interaction Protocol, AG-UI 1.0 and 0.1 (CopilotKit, assistant-ui): an adapter over the channel.

encode      items as events of the protocol
inner_runs  what inner agents do, as events of the protocol
decode      what a request asks for: messages, answers to interrupts, results of client tools
history     a session as the messages of a page
routes      the routes: run, messages, cancel
"""
