// The conversations of this browser, as all components see them. What is shown changes at once; storing follows, and
// what another tab has stored comes in by a BroadcastChannel.

import { afterFrame } from "../app/frames";
import type { Conversation } from "./conversation";
import type { Edit } from "./edits";
import { type Change, memoryShelf, openShelf, type Shelf } from "./shelf";

export interface StoreState {
  readonly loaded: boolean;
  /** False where the browser keeps nothing. */
  readonly kept: boolean;
  /** The newest first. */
  readonly conversations: readonly Conversation[];
}

/** What the store needs of a BroadcastChannel. */
export interface Channel {
  postMessage(id: string): void;
  onmessage: ((event: MessageEvent<string>) => void) | null;
}

export class ConversationStore {
  #state: StoreState = { loaded: false, kept: true, conversations: [] };
  readonly #listeners = new Set<() => void>();
  /** Changes on their way to the shelf, by conversation: until they are there, what is stored is behind us. */
  readonly #pending = new Map<string, number>();
  readonly #shelf: Promise<Shelf>;
  readonly #channel: Channel | null;
  readonly #loading: Promise<void>;

  constructor(shelf: () => Promise<Shelf> = openShelf, channel: Channel | null = openChannel()) {
    this.#channel = channel;
    this.#shelf = shelf().catch(() => {
      this.#set({ kept: false });
      return memoryShelf();
    });
    this.#loading = this.#load();
    if (channel) channel.onmessage = ({ data }) => void this.#reread(data);
  }

  /** Resolves when what was stored is here. */
  ready(): Promise<void> {
    return this.#loading;
  }

  readonly state = (): StoreState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get(id: string): Conversation | undefined {
    return this.#state.conversations.find((conversation) => conversation.id === id);
  }

  /** A new conversation, or one that is to come back. */
  put(conversation: Conversation): void {
    this.#show(conversation.id, conversation);
    void this.#keep(conversation.id, () => conversation);
  }

  /** One that was deleted, here or in another tab, stays deleted. */
  edit(id: string, edit: Edit): void {
    const shown = this.get(id);
    if (!shown) return;
    this.#show(id, edit(shown));
    void this.#keep(id, (stored) => stored && edit(stored));
  }

  /** Takes it away and gives it, so that it can be put back. */
  remove(id: string): Conversation | undefined {
    const removed = this.get(id);
    this.#show(id, undefined);
    void this.#keep(id, () => undefined);
    return removed;
  }

  async #load(): Promise<void> {
    const stored = await (await this.#shelf).all().catch(() => []);
    const made = this.#state.conversations.filter((here) => !stored.some(({ id }) => id === here.id));
    this.#set({ loaded: true, conversations: sorted([...made, ...stored]) });
  }

  async #keep(id: string, change: Change): Promise<void> {
    this.#pending.set(id, this.#pendingOf(id) + 1);
    try {
      const after = await (await this.#shelf).change(id, change);
      this.#showStored(id, after, true);
    } catch {
      this.#pending.set(id, this.#pendingOf(id) - 1);
      this.#set({ kept: false }); // full, or forbidden: the page goes on with what it has
      return;
    }
    this.#channel?.postMessage(id);
  }

  async #reread(id: string): Promise<void> {
    const stored = await (await this.#shelf).get(id).catch(() => this.get(id));
    this.#showStored(id, stored, false);
  }

  /**
   * With the next frame, so that an answer that is stored while it runs is not drawn twice in one. A change of ours
   * counts as pending until then: whatever was read before it is old.
   */
  #showStored(id: string, stored: Conversation | undefined, isOurs: boolean): void {
    afterFrame(() => {
      if (isOurs) this.#pending.set(id, this.#pendingOf(id) - 1);
      if (this.#pendingOf(id) === 0) this.#show(id, stored);
    });
  }

  #pendingOf(id: string): number {
    return this.#pending.get(id) ?? 0;
  }

  #show(id: string, conversation: Conversation | undefined): void {
    const others = this.#state.conversations.filter((other) => other.id !== id);
    this.#set({ conversations: sorted(conversation ? [...others, conversation] : others) });
  }

  #set(change: Partial<StoreState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function sorted(conversations: readonly Conversation[]): readonly Conversation[] {
  return [...conversations].sort((a, b) => b.updated - a.updated);
}

function openChannel(): Channel | null {
  return typeof BroadcastChannel === "function" ? new BroadcastChannel("polystream.conversations") : null;
}
