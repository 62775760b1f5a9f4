// A program of the built package: `node client_package.mjs PACKAGE BASE REQUEST`. It prints what it found as JSON.
const [, , folder, base, json] = process.argv;
const { followRun, startRun } = await import(`${folder}/stream/resume.js`);
const { PROTOCOLS } = await import(`${folder}/stream/transport.js`);
const request = JSON.parse(json);

/** The protocol that is so many places behind another. */
function behind(protocol, places) {
  return PROTOCOLS[(PROTOCOLS.indexOf(protocol) + places) % PROTOCOLS.length];
}

/** Iterates a run to its end; `act(run, seq)` is called behind each event. */
async function read(run, act = () => {}) {
  const events = [];
  for await (const event of run) {
    events.push(event);
    act(run, event.seq);
  }
  const { id, phase, verified, failure, position } = run;
  const connections = run.connections.map(({ protocol, firstSeq, lastSeq, end }) => ({ protocol, firstSeq, lastSeq, end }));
  return { id, phase, verified, failure, position, events, connections };
}

/** Starts over one protocol, goes on over each other one, and loses the connection now and then. */
async function travel(protocol) {
  return await read(startRun(request, { base, protocol }), (run, seq) => {
    if (seq % 5 === 2) run.switchTo(behind(run.protocol, 1));
    if (seq % 5 === 4) run.drop();
  });
}

async function cancel(protocol) {
  return await read(startRun(request, { base, protocol }), (run, seq) => {
    if (seq === 2) void run.cancel();
  });
}

const over = async (act) => await Promise.all(PROTOCOLS.map(act));
const travels = await over(travel);
const id = travels[0].id;
const follows = await over((protocol) => read(followRun(id, 3, { base, protocol })));
const ends = await over((protocol) => read(followRun(id, travels[0].position, { base, protocol })));
const cancels = await over(cancel);
const wrong = await over((protocol) => read(startRun({ ...request, top_p: 7 }, { base, protocol })));
const lost = await over((protocol) => read(followRun(id, 9_999, { base, protocol })));
const missing = await over((protocol) => read(followRun("gen_0000000000000000000000", null, { base, protocol })));
console.log(JSON.stringify({ travels, follows, ends, cancels, wrong, lost, missing }));
