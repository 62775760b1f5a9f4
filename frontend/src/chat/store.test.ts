import { IDBFactory } from "fake-indexeddb";
import { expect, test, vi } from "vitest";
import { conversation, turn } from "../testing/conversations";
import { renamed, withAnswer, withTurn } from "./edits";
import { openShelf } from "./shelf";
import { type Channel, ConversationStore } from "./store";

/** Tabs of one browser: one database, and channels that reach all but their own. */
function browser(): () => ConversationStore {
  const factory = new IDBFactory();
  const channels: Channel[] = [];
  return () => {
    const channel: Channel = {
      onmessage: null,
      postMessage: (id) => {
        for (const other of channels) {
          if (other !== channel) other.onmessage?.(new MessageEvent("message", { data: id }));
        }
      },
    };
    channels.push(channel);
    return new ConversationStore(() => openShelf(factory), channel);
  };
}

const titles = (store: ConversationStore) => store.state().conversations.map(({ title }) => title);

test("what was put is there after a reload, the newest first", async () => {
  const open = browser();
  const before = open();
  before.put(conversation({ id: "old", title: "old", updated: 1 }));
  before.put(conversation({ id: "new", title: "new", updated: 2 }));
  await vi.waitFor(async () => {
    const after = open();
    await after.ready();
    expect(titles(after)).toEqual(["new", "old"]);
  });
});

test("a change is seen at once, and by the other tab a little later", async () => {
  const open = browser();
  const [here, there] = [open(), open()];
  await Promise.all([here.ready(), there.ready()]);
  here.put(conversation());
  here.edit("c1", renamed("Renamed"));
  expect(titles(here)).toEqual(["Renamed"]);
  await vi.waitFor(() => expect(titles(there)).toEqual(["Renamed"]));
});

test("two tabs that change one conversation at once lose nothing", async () => {
  const open = browser();
  const [here, there] = [open(), open()];
  await Promise.all([here.ready(), there.ready()]);
  here.put(conversation());
  await vi.waitFor(() => expect(there.get("c1")).toBeDefined());
  here.edit("c1", withTurn(turn("t1", "here")));
  there.edit("c1", withTurn(turn("t2", "there")));
  for (const tab of [here, there]) {
    await vi.waitFor(() =>
      expect(
        tab
          .get("c1")
          ?.turns.map(({ ask }) => ask)
          .sort(),
      ).toEqual(["here", "there"]),
    );
  }
});

test("what another tab has deleted stays deleted, whatever still comes for it", async () => {
  const open = browser();
  const [here, there] = [open(), open()];
  await Promise.all([here.ready(), there.ready()]);
  here.put(conversation({ turns: [turn("t1", "ask", { state: "running" })] }));
  await vi.waitFor(() => expect(there.get("c1")).toBeDefined());
  there.remove("c1");
  here.edit("c1", withAnswer(turn("t1", "ask", { text: "late" }).answer));
  await vi.waitFor(() => expect(here.get("c1")).toBeUndefined());
});

test("what was removed can be put back", async () => {
  const store = browser()();
  await store.ready();
  store.put(conversation());
  const removed = store.remove("c1");
  expect(titles(store)).toEqual([]);
  store.put(removed ?? conversation({ title: "lost" }));
  expect(titles(store)).toEqual(["A title"]);
});

test("a browser that keeps nothing still shows what was asked, and it is said", async () => {
  const store = new ConversationStore(() => Promise.reject(new Error("private")), null);
  await store.ready();
  store.put(conversation());
  expect(titles(store)).toEqual(["A title"]);
  expect(store.state().kept).toBe(false);
});

test("an answer does not go back to less than is stored", () => {
  const stored = conversation({
    turns: [turn("t1", "ask", { state: "running", position: 9, text: "longer" })],
  });
  const text = (answer: Parameters<typeof turn>[2]) =>
    withAnswer(turn("t1", "ask", answer).answer)(stored).turns[0]?.answer.text;
  expect(text({ state: "running", position: 5, text: "short" })).toBe("longer");
  expect(text({ state: "running", position: 12, text: "longest" })).toBe("longest");
  expect(text({ state: "stopped", position: 5, text: "stopped" })).toBe("stopped");
});
