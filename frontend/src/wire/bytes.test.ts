import { describe, expect, test } from "vitest";
import { frameOf, textEvent } from "../testing/scripted";
import { decodedOf, elsewhere, jsonTokens } from "./decoded";
import { ndjsonOf } from "./exported";
import { bytesOnWire, framing, websocketHeader } from "./framing";
import { hexDump, joined } from "./hex";
import { piecesOf } from "./raw";

const utf8 = new TextEncoder();
const socket = (length: number, direction: "in" | "out" = "in") =>
  ({ at: 0, protocol: "websocket", direction, bytes: new Uint8Array(length) }) as const;

describe("framing", () => {
  test("a WebSocket's header is 2, 4 or 10 bytes, and says the length (RFC 6455, 5.2)", () => {
    expect([...websocketHeader(socket(53))]).toEqual([0x81, 53]);
    expect([...websocketHeader(socket(125))]).toEqual([0x81, 125]);
    expect([...websocketHeader(socket(126))]).toEqual([0x81, 126, 0, 126]);
    expect([...websocketHeader(socket(256))]).toEqual([0x81, 126, 1, 0]);
    expect([...websocketHeader(socket(65_536))]).toEqual([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
  });

  test("what we send over a WebSocket is masked: four bytes more", () => {
    expect(bytesOnWire(socket(53))).toBe(55);
    expect(bytesOnWire(socket(53, "out"))).toBe(59);
  });

  test("a gRPC-Web message has five bytes before it; lines and events are all payload", () => {
    expect(framing(frameOf("grpcweb", textEvent(1, "Hello"), 0))).toEqual({ header: 5, payload: 5 });
    expect(framing(frameOf("rest", textEvent(1, "Hi"), 0)).header).toBe(0);
  });
});

describe("bytes", () => {
  test("a dump has eight bytes a line, with their characters", () => {
    const bytes = joined(Uint8Array.of(0x81, 0x35), utf8.encode('{"ref":"b\n'));
    expect(hexDump(bytes)).toBe(
      ['0000  81 35 7b 22 72 65 66 22  ·5{"ref"', '0008  3a 22 62 0a              :"b·'].join("\n"),
    );
  });

  test("control characters become signs, apart from the text", () => {
    expect(piecesOf(utf8.encode("id: 1\ndata: é\n\n"))).toEqual([
      { text: "id: 1", control: false },
      { text: "↵", control: true },
      { text: "data: é", control: false },
      { text: "↵↵", control: true },
    ]);
    expect(piecesOf(Uint8Array.of(0, 65))).toEqual([
      { text: "·", control: true },
      { text: "A", control: false },
    ]);
  });
});

describe("decoded", () => {
  const event = textEvent(96, " protocol");

  test("JSON is shown as it stands, with the fields around the event", () => {
    expect(decodedOf(frameOf("websocket", event, 0))).toEqual({ ref: "a", ...event });
    expect(decodedOf(frameOf("grpcweb", event, 0))).toEqual(event);
  });

  test("the same event's size over another protocol", () => {
    expect(elsewhere(frameOf("websocket", event, 0))).toEqual({
      over: "sse",
      bytes: 'id: 96\nevent: text\ndata: {"seq":96,"type":"text","text":" protocol"}\n\n'.length,
    });
    expect(elsewhere(frameOf("sse", event, 0))).toEqual({
      over: "websocket",
      bytes: 2 + '{"ref":"a","seq":96,"type":"text","text":" protocol"}'.length,
    });
    expect(elsewhere(frameOf("rest", textEvent(1, "語"), 0))?.bytes).toBe(
      elsewhere(frameOf("rest", textEvent(1, "123456"), 0))?.bytes, // written as \u8a9e
    );
  });

  test("keys, strings and numbers have their colours", () => {
    const coloured = jsonTokens({ seq: 96, text: 'a "b": 1' }).filter(({ kind }) => kind !== "rest");
    expect(coloured.map(({ text, kind }) => `${kind} ${text}`)).toEqual([
      'key "seq"',
      "number 96",
      'key "text"',
      'string "a \\"b\\": 1"',
    ]);
  });
});

test("an export has a line for each frame, bytes as text or in base64", () => {
  const frames = [
    frameOf("rest", textEvent(1, "Hi"), 1012.5),
    { ...socket(1), at: 1020, bytes: Uint8Array.of(0xff) },
  ];
  const lines = ndjsonOf({ id: "a", title: "", startedAt: 1000, frames, events: [], run: null })
    .trimEnd()
    .split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      t_ms: 12.5,
      protocol: "rest",
      direction: "in",
      text: '{"seq":1,"type":"text","text":"Hi"}\n',
      message: { seq: 1, type: "text", text: "Hi" },
    },
    { t_ms: 20, protocol: "websocket", direction: "in", base64: "/w==" },
  ]);
});
