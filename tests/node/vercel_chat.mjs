// A page without a browser: the engine of `useChat` with its own transport, driven by steps from the
// command line. Arguments: the API's address, the chat's id, the steps as JSON. Prints the page's
// messages after each step, as one line of JSON.
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';

class State {
  constructor(messages) {
    this.messages = messages;
    this.status = 'ready';
    this.error = undefined;
  }
  pushMessage = message => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = [...this.messages.slice(0, index), message, ...this.messages.slice(index + 1)];
  };
  snapshot = thing => structuredClone(thing);
}

class Page extends AbstractChat {
  constructor(options) {
    super({ ...options, state: new State(options.messages ?? []) });
  }
}

const [api, id, steps] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const errors = [];
const calls = [];
let count = 0;

const load = async () => (await fetch(`${api}/${id}`)).json();
const page = messages => new Page({
  id,
  messages,
  generateId: () => `u${++count}`,
  transport: new DefaultChatTransport({ api }),
  onError: error => errors.push(error.message),
  onToolCall: ({ toolCall }) => {
    calls.push(toolCall.toolName);
    chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: 'crimson' });
  },
  onFinish: async ({ messages }) => { // the answer to a message that waited for a call
    if (messages.at(-1)?.role === 'user') chat.messages = await load();
  },
  sendAutomaticallyWhen: given =>
    given.messages.some(each => lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [each] })) ||
    lastAssistantMessageIsCompleteWithToolCalls(given),
});
let chat = page();

const parts = () => chat.messages.flatMap(message => message.parts);
const sleep = () => new Promise(resolve => setTimeout(resolve, 20));
const settled = async () => {
  for (let quiet = 0; quiet < 10; quiet++) {
    await sleep();
    const open = parts().some(part => part.state === 'approval-responded');
    if (chat.status === 'submitted' || chat.status === 'streaming' || (open && !errors.length)) quiet = 0;
  }
};

for (const [what, value] of steps) {
  if (what === 'send') await chat.sendMessage(typeof value === 'string' ? { text: value } : value);
  if (what === 'begin') chat.sendMessage({ text: value });
  if (what === 'decide') {
    const asked = parts().filter(part => part.state === 'approval-requested');
    for (const [n, part] of asked.entries()) {
      await chat.addToolApprovalResponse({ id: part.approval.id, ...(value[n] ?? value[0]) });
    }
  }
  if (what === 'regenerate') await chat.regenerate();
  if (what === 'again') await chat.sendMessage();
  if (what === 'until') while (!errors.length && !parts().some(part => part.text?.includes(value))) await sleep();
  if (what === 'stop') await chat.stop();
  if (what === 'reload') chat = page(await load());
  if (what === 'resume') await chat.resumeStream();
  if (what !== 'begin' && what !== 'until') await settled();
  console.log(JSON.stringify({ what, status: chat.status, errors, calls, messages: chat.messages }));
}
process.stdout.write('', () => process.exit(0));
