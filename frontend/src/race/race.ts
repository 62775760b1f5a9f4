// A race: the same request over every protocol, each with its own generation, started in the same turn.
import type { Recordings } from "../app/recordings";
import type { StartRequest } from "../stream/event";
import type { Run, StartRun } from "../stream/run";
import type { Protocol } from "../stream/transport";
import { PROTOCOLS } from "../stream/transport";
import { Lane } from "./lane";

const TITLE_LENGTH = 60;

export interface RaceRequest {
  readonly prompt: string;
  readonly model: string;
  readonly maxTokens: number;
  /** How a recording of the race is called: what was asked, and over which protocol. */
  readonly title: (prompt: string, protocol: Protocol) => string;
}

let races = 0;

/** Browsers open six connections to a host over HTTP/1.1; a race takes three and a WebSocket. */
export function startRace(asked: RaceRequest, startRun: StartRun, recordings: Recordings): Lane[] {
  races += 1;
  const race = `race-${Date.now().toString(36)}-${races}`;
  const titleOf = (protocol: Protocol) => asked.title(shortened(asked.prompt), protocol);
  const startedAt = performance.now();
  // The newest recording is listed first: added from the last to the first they are listed as the lanes stand.
  const lanes = PROTOCOLS.toReversed()
    .map(
      (protocol) => new Lane(protocol, recordings.add(`${race}-${protocol}`, titleOf(protocol)), startedAt),
    )
    .reverse();
  const request = requestFor(asked);
  for (const lane of lanes) startLane(lane, request, startRun, recordings);
  return lanes;
}

export function stopRace(lanes: readonly Lane[]): void {
  for (const { run, running } of lanes) {
    if (!run || !running) continue;
    // Where no server can be asked the reader just leaves, and `on_disconnect` ends what there may be.
    if (run.id === null || run.phase === "reconnecting") run.stop();
    else run.cancel().catch(() => run.stop());
  }
}

function requestFor({ prompt, model, maxTokens }: RaceRequest): StartRequest {
  return {
    ...(model ? { model } : {}),
    messages: [{ role: "user", content: prompt }],
    max_tokens: maxTokens,
    temperature: 0,
    on_disconnect: "cancel",
  };
}

function startLane(lane: Lane, request: StartRequest, startRun: StartRun, recordings: Recordings): void {
  const { id } = lane.recording;
  const run = startRun(request, {
    protocol: lane.protocol,
    onFrame: (frame) => {
      lane.frame(frame);
      recordings.frame(id, frame);
    },
    onChange: (changed) => recordings.run(id, changed),
  });
  lane.run = run;
  recordings.run(id, run);
  void follow(lane, run, recordings);
}

async function follow(lane: Lane, run: Run, recordings: Recordings): Promise<void> {
  const { id } = lane.recording;
  try {
    for await (const event of run) {
      const at = lane.cameAt(event);
      recordings.event(id, event, at);
      lane.event(event, at);
    }
  } catch (error) {
    lane.error = error instanceof Error ? error.message : String(error);
  }
  recordings.run(id, run); // The phase, and whether it was verified, stand now.
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1)}…` : line;
}
