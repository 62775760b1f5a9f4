// Where conversations are kept in the browser: IndexedDB, one record each, so that saving one while its answer runs
// costs little and blocks nothing. Changes are made in a transaction, so tabs cannot overwrite each other.

import type { Conversation } from "./conversation";

/** Given what is stored (undefined: nothing), what is to be stored (undefined: nothing). */
export type Change = (stored: Conversation | undefined) => Conversation | undefined;

export interface Shelf {
  all(): Promise<Conversation[]>;
  get(id: string): Promise<Conversation | undefined>;
  /** Atomic, also between tabs; what is stored afterwards. */
  change(id: string, change: Change): Promise<Conversation | undefined>;
}

const NAME = "polystream";
const STORE = "conversations";

/** Throws where the browser keeps nothing, as in some private windows. */
export async function openShelf(factory: IDBFactory = indexedDB): Promise<Shelf> {
  const opening = factory.open(NAME, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: "id" });
  const database = await done(opening);
  // A later version of the page must not wait for this tab to upgrade.
  database.onversionchange = () => database.close();
  const store = (mode: IDBTransactionMode) => database.transaction(STORE, mode).objectStore(STORE);
  return {
    all: () => done(store("readonly").getAll()),
    get: (id) => done(store("readonly").get(id)),
    async change(id, change) {
      const conversations = store("readwrite");
      const after = change(await done(conversations.get(id)));
      if (after) await done(conversations.put(after));
      else await done(conversations.delete(id));
      return after;
    },
  };
}

/** Keeps nothing beyond the page's life. */
export function memoryShelf(): Shelf {
  const kept = new Map<string, Conversation>();
  return {
    all: async () => [...kept.values()],
    get: async (id) => kept.get(id),
    async change(id, change) {
      const after = change(kept.get(id));
      if (after) kept.set(id, after);
      else kept.delete(id);
      return after;
    },
  };
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
