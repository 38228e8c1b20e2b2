// An AG-UI client without a browser, driven by steps from the command line. Arguments: the address, the
// thread's id, the steps as JSON. Prints what the client has after each step, as one line of JSON.
import { HttpAgent } from '@ag-ui/client';
import jsonpatch from 'fast-json-patch';

const [url, threadId, steps] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const logged = [];
console.warn = (...words) => logged.push(words.join(' '));
console.error = (...words) => logged.push(words.join(' '));
const print = process.stdout.write.bind(process.stdout);

let agent = new HttpAgent({ url, threadId });
let version = {};
const listen = events => ({
  onEvent: ({ event }) => {
    events.push(event);
  },
});

for (const [what, value, options] of steps) {
  let error = null;
  const events = [];
  let parameters = options ?? {};
  if (what === 'reload') agent = new HttpAgent({ url, threadId });
  if (what === 'say') agent.addMessage({ id: value.id ?? value, role: 'user', content: value.content ?? value });
  if (what === 'forge') agent.setMessages([...value, ...agent.messages]);
  if (what === 'tool') {
    agent.addMessage({ id: `${value.id}-client`, role: 'tool', toolCallId: value.id, content: value.content });
  }
  if (what === 'resume') {
    const resume = agent.pendingInterrupts.map((each, n) => ({
      interruptId: each.id, status: 'resolved', payload: value[n] ?? value[0],
    }));
    parameters = { ...parameters, resume };
  }
  if (what === 'old') agent.requestInit = input => {
    const { protocolVersion, ...body } = input;
    const headers = { 'Content-Type': 'application/json', Accept: 'text/event-stream' };
    return { method: 'POST', headers, body: JSON.stringify(body) };
  };
  if (!['forge', 'old'].includes(what)) {
    try {
      await agent.runAgent(parameters, listen(events));
    } catch (caught) {
      error = String(caught?.message ?? caught);
    }
  }
  // the state once more, by the patches alone
  let state;
  for (const event of events) {
    if (event.type === 'STATE_SNAPSHOT') state = structuredClone(event.snapshot);
    if (event.type === 'STATE_DELTA') state = jsonpatch.applyPatch(state, event.delta, true).newDocument;
  }
  print(`${JSON.stringify({
    what, error, logged, events, patched: state ?? null,
    messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts,
  })}\n`);
}
process.stdout.write('', () => process.exit(0));
