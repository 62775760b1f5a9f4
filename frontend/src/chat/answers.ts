// The answers that are on their way: starts them, takes them up again after a reload or in a second tab, sends a
// shorter history when it is too long and the whole again when the server is busy, and stores what has come.

import { newId } from "../app/ids";
import type { Recordings } from "../app/recordings";
import type { FollowRun, StartRun } from "../stream/run";
import type { Protocol } from "../stream/transport";
import { type Answer, type Conversation, isOpen, lastProtocol, newAnswer, type Turn } from "./conversation";
import { askedAgain, type Edit, withAnswer, withTurn } from "./edits";
import { Following, type Live } from "./following";
import { before, omittedBefore, requestFor } from "./history";
import type { ConversationStore } from "./store";

export interface Streams {
  readonly start: StartRun;
  readonly follow: FollowRun;
}

/** While an answer runs it is stored once in so long, so that a reload finds it not far behind. */
const STORE_MS = 1000;
/** Waits before sending again to a busy engine, which does not say how long; the last one stays. */
const BUSY_MS = [2_000, 5_000, 10_000, 30_000];
/** How long a cancel may take before we stop listening. */
const CANCEL_MS = 3_000;
/** Above RETENTION_S: nobody knows any more what became of a question that got no event. */
const FORGOTTEN_MS = 3_600_000;

interface Place {
  readonly conversationId: string;
  readonly turnId: string;
}

interface Running extends Place {
  live: Live;
  following: Following | null;
  storedAt: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  attempts: number;
}

export class Answers {
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<() => void>();

  constructor(
    private readonly store: ConversationStore,
    private readonly recordings: Recordings,
    private readonly streams: Streams,
  ) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** How an answer stands while this page follows it; the same object until it changes. */
  live(answerId: string): Live | undefined {
    return this.#running.get(answerId)?.live;
  }

  /** Asks at the end of the conversation. */
  send(conversationId: string, ask: string, protocol: Protocol): void {
    this.#begin(conversationId, newId(), ask, protocol, withTurn);
  }

  /** Asks a turn anew, with other words or the same; what came after it is gone. */
  askAgain(conversationId: string, turnId: string, ask: string, protocol: Protocol): void {
    for (const turn of this.store.get(conversationId)?.turns ?? []) this.leave(turn.answer.id);
    this.#begin(conversationId, turnId, ask, protocol, askedAgain);
  }

  /** Takes up what ran when it was last seen. */
  resume(conversation: Conversation): void {
    for (const turn of conversation.turns) {
      if (isOpen(turn.answer) && !this.#running.has(turn.answer.id)) this.#takeUp(conversation.id, turn);
    }
  }

  async stop(answerId: string): Promise<void> {
    const running = this.#running.get(answerId);
    if (!running) return;
    if (!running.following)
      return this.#end(running, { ...running.live.answer, state: "stopped", resendAt: null });
    const { run } = running.following;
    // Nothing is generated yet, as far as we know: a start that did arrive ends by its on_disconnect.
    if (run.id === null && run.phase === "reconnecting") run.stop();
    const late = setTimeout(() => run.stop(), CANCEL_MS);
    await run.cancel().catch(() => run.stop());
    if (!this.#running.has(answerId)) clearTimeout(late);
  }

  drop(answerId: string): void {
    this.#running.get(answerId)?.following?.run.drop();
  }

  retryNow(answerId: string): void {
    const running = this.#running.get(answerId);
    if (running?.following) running.following.run.retryNow();
    else if (running) this.#start(running);
  }

  switchTo(answerId: string, protocol: Protocol): void {
    const running = this.#running.get(answerId);
    if (running?.following) running.following.run.switchTo(protocol);
    else if (running) this.#show(running, { ...running.live, answer: { ...running.live.answer, protocol } });
  }

  /** Stops following; the generation goes on as its on_disconnect says. */
  leave(answerId: string): void {
    const running = this.#running.get(answerId);
    if (!running) return;
    clearTimeout(running.timer);
    this.#running.delete(answerId);
    running.following?.leave();
    this.#tell();
  }

  /** Stores what has come, before the page goes. */
  flush(): void {
    for (const running of this.#running.values()) this.#keep(running);
  }

  #begin(
    conversationId: string,
    turnId: string,
    ask: string,
    protocol: Protocol,
    edit: (turn: Turn) => Edit,
  ): void {
    const conversation = this.store.get(conversationId);
    if (!conversation) return;
    const at = Date.now();
    const omitted = omittedBefore(conversation, turnId);
    const answer = newAnswer(newId(), protocol, omitted, at);
    // Known as running before it is stored, or it would be taken up as one that another tab has started.
    const running = this.#add(conversationId, turnId, answer);
    this.store.edit(conversationId, edit({ id: turnId, at, ask, answer }));
    this.#start(running);
  }

  #takeUp(conversationId: string, turn: Turn): void {
    const { answer } = turn;
    const running = this.#add(conversationId, turn.id, answer);
    this.recordings.add(answer.id, turn.ask);
    const { streamId, position } = answer;
    if (answer.state === "busy") this.#resendLater(running, answer.resendAt ?? Date.now());
    else if (streamId) this.#followOn(running, streamId, position);
    else if (Date.now() - answer.askedAt > FORGOTTEN_MS) this.#end(running, forgotten(answer));
    else this.#start(running); // its key finds the generation, if it was started at all
  }

  #followOn(running: Running, streamId: string, position: number): void {
    const protocol = lastProtocol(running.live.answer);
    const after = position < 0 ? null : position;
    this.#follow(running, (options) => this.streams.follow(streamId, after, { ...options, protocol }));
  }

  #add(conversationId: string, turnId: string, answer: Answer): Running {
    const live: Live = { answer, phase: "connecting", retryAt: null, trouble: null };
    const running: Running = {
      conversationId,
      turnId,
      live,
      following: null,
      storedAt: 0,
      timer: undefined,
      attempts: 0,
    };
    this.#running.set(answer.id, running);
    this.#tell();
    return running;
  }

  #start(running: Running): void {
    clearTimeout(running.timer);
    const found = this.#find(running);
    if (!found) {
      this.leave(running.live.answer.id);
      return;
    }
    const { conversation, turn } = found;
    const answer: Answer = { ...running.live.answer, state: "running", resendAt: null, failure: null };
    this.recordings.add(answer.id, turn.ask);
    this.recordings.restart(answer.id);
    running.live = { ...running.live, answer };
    this.#keep(running);
    const request = requestFor(conversation, turn, answer.omitted);
    // The key makes a reload before the first event find the generation instead of starting another.
    const idempotencyKey = `${answer.id}.${answer.omitted}`;
    this.#follow(running, (options) =>
      this.streams.start(request, { ...options, protocol: answer.protocol, idempotencyKey }),
    );
  }

  #follow(running: Running, run: ConstructorParameters<typeof Following>[0]["run"]): void {
    const following = new Following({
      answer: running.live.answer,
      run,
      recordings: this.recordings,
      onChange: (live) => this.#show(running, live),
    });
    running.following = following;
    void following.toEnd().then(
      (answer) => this.#ended(running, following, answer),
      (error: unknown) => this.#ended(running, following, broken(running.live.answer, error)),
    );
  }

  #ended(running: Running, following: Following, answer: Answer): void {
    if (running.following !== following || !this.#running.has(answer.id)) return;
    running.following = null;
    const code = answer.state === "failed" && !answer.text ? answer.failure?.code : undefined;
    if (code === "context_length_exceeded" && this.#shorten(running, answer)) return;
    const isBusy = (code === "overloaded" || code === "rate_limited") && answer.failure?.retryable;
    if (isBusy) this.#busy(running, answer);
    else this.#end(running, answer);
  }

  /** Sends it again without the oldest turn; false when there is none to leave out. */
  #shorten(running: Running, answer: Answer): boolean {
    const found = this.#find(running);
    if (!found || answer.omitted >= before(found.conversation, found.turn.id).length) return false;
    running.live = { ...running.live, answer: anew(answer, { omitted: answer.omitted + 1 }) };
    this.#start(running);
    return true;
  }

  #busy(running: Running, answer: Answer): void {
    const wait = BUSY_MS[Math.min(running.attempts, BUSY_MS.length - 1)] ?? 0;
    running.attempts += 1;
    const resendAt = Date.now() + wait;
    const waiting = anew(answer, { state: "busy", resendAt, failure: answer.failure });
    this.#show(running, { ...running.live, answer: waiting, phase: "connecting" });
    this.#keep(running);
    this.#resendLater(running, resendAt);
  }

  #resendLater(running: Running, at: number): void {
    running.timer = setTimeout(() => this.#start(running), Math.max(0, at - Date.now()));
  }

  #end(running: Running, answer: Answer): void {
    clearTimeout(running.timer);
    running.live = { ...running.live, answer };
    this.#keep(running);
    this.#running.delete(answer.id);
    this.#tell();
  }

  #show(running: Running, live: Live): void {
    // With its id a reload follows it; without, it could only ask again.
    const isNamed = live.answer.streamId !== null && running.live.answer.streamId === null;
    running.live = live;
    if (isNamed || performance.now() - running.storedAt > STORE_MS) this.#keep(running);
    this.#tell();
  }

  #keep(running: Running): void {
    running.storedAt = performance.now();
    this.store.edit(running.conversationId, withAnswer(running.live.answer));
  }

  #find({ conversationId, turnId }: Place): { conversation: Conversation; turn: Turn } | undefined {
    const conversation = this.store.get(conversationId);
    const turn = conversation?.turns.find(({ id }) => id === turnId);
    return conversation && turn && { conversation, turn };
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The same answer before its first event. */
function anew(answer: Answer, change: Partial<Answer>): Answer {
  const { id, protocol, omitted, askedAt, bytes } = answer;
  return { ...newAnswer(id, protocol, omitted, askedAt), bytes, ...change };
}

function broken(answer: Answer, error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error);
  return { ...answer, state: "failed", failure: { code: "unknown", message, retryable: true } };
}

function forgotten(answer: Answer): Answer {
  const failure = {
    code: "not_found",
    message: "The page was closed before the first event.",
    retryable: true,
  };
  return { ...answer, state: "failed", failure };
}
