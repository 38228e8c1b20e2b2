// An editor without a screen: the official client of ACP, which starts an agent and drives it by steps.
// Arguments: the folder, the steps as JSON, then the agent's command. Prints one line of JSON per step.
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const [cwd, stepsText, program, ...words] = process.argv.slice(2);
const steps = JSON.parse(stepsText);
const agent = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
let printed = '';
agent.stderr.on('data', data => { printed += data; });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

let happened = [];
let answers = [];
let asked = () => {};
const app = client({ name: 'editor' })
  .onNotification(methods.client.session.update, ({ params }) => {
    happened.push(params.update);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    happened.push({ sessionUpdate: 'permission', ...params });
    asked();
    const kind = answers.shift();
    if (kind === 'never') return new Promise(() => {});
    const option = params.options.find(each => each.kind === kind);
    return { outcome: { outcome: 'selected', optionId: option?.optionId ?? kind } };
  });

let sessionId = '';
await app.connectWith(stream, async context => {
  await context.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION, clientCapabilities: {},
  });
  for (const [what, value, replies] of steps) {
    happened = [];
    answers = replies ?? [];
    let result = null;
    let error = null;
    try {
      if (what === 'new') {
        result = await context.request(methods.agent.session.new, { cwd, mcpServers: [] });
        sessionId = result.sessionId;
      }
      if (what === 'load' || what === 'resume') {
        sessionId = value.sessionId;
        const params = { sessionId, cwd: value.cwd ?? cwd, mcpServers: [] };
        result = await context.request(methods.agent.session[what], params);
        result = { ...result, count: happened.length };
      }
      if (what === 'mode') {
        result = await context.request(methods.agent.session.setMode, { sessionId, modeId: value });
      }
      if (what === 'list') result = await context.request(methods.agent.session.list, { cwd });
      if (what === 'say' || what === 'cancel') {
        const question = new Promise(resolve => { asked = resolve; });
        const params = { sessionId, prompt: [{ type: 'text', text: value }] };
        const prompting = context.request(methods.agent.session.prompt, params);
        if (what === 'cancel') {
          await question;
          await context.notify(methods.agent.session.cancel, { sessionId });
        }
        result = await prompting;
        result = { ...result, count: happened.length };
      }
    } catch (caught) {
      error = { message: String(caught?.message ?? caught), data: caught?.data ?? null };
    }
    await new Promise(resolve => setTimeout(resolve, 100));
    process.stdout.write(`${JSON.stringify({ what, result, error, happened })}\n`);
  }
});
agent.stdin.end();
await new Promise(resolve => agent.on('exit', resolve));
process.stdout.write(`${JSON.stringify({ what: 'end', code: agent.exitCode, printed })}\n`);
process.exit(0);
