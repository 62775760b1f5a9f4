// The words of Wire.
import type { CutRow, Filter } from "../wire/rows";
import type { Dictionaries } from "./language";

export interface WireWords {
  readonly title: string;
  readonly choose: string;
  readonly show: string;
  readonly filters: Readonly<Record<Filter, string>>;
  readonly exportLabel: string;
  readonly columns: readonly [string, string, string, string, string, string];
  readonly frames: string;
  readonly sent: string;
  readonly received: string;
  readonly cut: (end: CutRow["end"], after: number | null, gapMs: number | null) => string;
  readonly overview: (events: number, seconds: string, route: string) => string;
  readonly thenOver: string;
  readonly visible: string;
  readonly visibleRange: (from: string, to: string) => string;
  readonly buffered: (protocol: string) => string;
  readonly failed: string;
  readonly running: string;
  readonly finished: string;
  readonly emptyTitle: string;
  readonly empty: string;
  readonly toChat: string;
  readonly toRace: string;
  readonly noneLeft: Readonly<Record<Filter, string>>;
  readonly frame: string;
  readonly event: (seq: number) => string;
  readonly previous: string;
  readonly next: string;
  readonly close: string;
  readonly arrived: string;
  readonly wasSent: string;
  readonly gapBefore: string;
  readonly elsewhere: (protocol: string) => string;
  readonly bytesCount: (bytes: number) => string;
  readonly framing: {
    readonly rest: (bytes: number) => string;
    readonly sse: (bytes: number) => string;
    readonly websocket: (header: number, payload: number) => string;
    readonly grpcweb: (header: number, payload: number) => string;
    readonly request: (bytes: number) => string;
  };
  readonly decoded: string;
  readonly bytes: string;
  readonly more: (bytes: number) => string;
}

export const WIRE_WORDS: Dictionaries<WireWords> = {
  en: {
    title: "Wire",
    choose: "Answer",
    show: "Show",
    filters: { all: "All", text: "Text", notices: "Notices", heartbeats: "Heartbeats" },
    exportLabel: "Export as NDJSON",
    columns: ["Time, s", "Gap", "Event", "Type", "Bytes", "Frame as it came"],
    frames: "Frames",
    sent: "sent",
    received: "received",
    cut: (end, after, gapMs) => {
      const what = {
        last: "The answer ended",
        dropped: "Connection dropped by you",
        switched: "Protocol switched by you",
        come_back: "The server asked to come back",
        broken: "The connection broke",
      }[end];
      const where = after === null ? " before the first event." : ` after event ${after}.`;
      return what + where + (gapMs === null ? "" : ` ${Math.round(gapMs)} ms until the next event.`);
    },
    overview: (events, seconds, route) => `${events} events over ${seconds} seconds, ${route}`,
    thenOver: " then ",
    visible: "Part in sight",
    visibleRange: (from, to) => `${from} to ${to} seconds`,
    buffered: (protocol) => `a proxy is buffering the ${protocol} stream`,
    failed: "failed",
    running: "streaming",
    finished: "finished",
    emptyTitle: "Nothing has come over the wire yet",
    empty:
      "Ask something in Chat or run a race: every frame of its answers is kept here, as it came, for as long as the page is open.",
    toChat: "Chat",
    toRace: "Race",
    noneLeft: {
      all: "No frame has come yet.",
      text: "No text in this answer.",
      notices: "No notices in this answer.",
      heartbeats: "No heartbeats in this answer.",
    },
    frame: "Frame",
    event: (seq) => `Event ${seq}`,
    previous: "Previous frame",
    next: "Next frame",
    close: "Close",
    arrived: "Arrived",
    wasSent: "Sent",
    gapBefore: "Gap before",
    elsewhere: (protocol) => `Over ${protocol} it would be`,
    bytesCount: (bytes) => `${bytes} bytes`,
    framing: {
      rest: (bytes) => `one line, ${bytes} bytes`,
      sse: (bytes) => `one event, ${bytes} bytes`,
      websocket: (header, payload) => `text, final, ${header} + ${payload} bytes`,
      grpcweb: (header, payload) => `message, ${header} + ${payload} bytes`,
      request: (bytes) => `body, ${bytes} bytes`,
    },
    decoded: "Decoded",
    bytes: "Bytes",
    more: (bytes) => `${bytes} more bytes`,
  },
  ja: {
    title: "通信",
    choose: "回答",
    show: "表示する種類",
    filters: { all: "すべて", text: "テキスト", notices: "通知", heartbeats: "ハートビート" },
    exportLabel: "NDJSONで書き出し",
    columns: ["時刻 (s)", "間隔", "番号", "種類", "バイト", "受信したままのフレーム"],
    frames: "フレーム",
    sent: "送信",
    received: "受信",
    cut: (end, after, gapMs) => {
      const what = {
        last: "回答が終了",
        dropped: "手動で切断",
        switched: "手動でプロトコルを切り替え",
        come_back: "サーバーが再接続を要求",
        broken: "接続が切断",
      }[end];
      const where = after === null ? "最初のイベントの前に" : `イベント${after}の後に`;
      return `${where}${what}。${gapMs === null ? "" : `次のイベントまで${Math.round(gapMs)} ms。`}`;
    },
    overview: (events, seconds, route) => `${seconds}秒間の${events}イベント、${route}`,
    thenOver: "から",
    visible: "表示範囲",
    visibleRange: (from, to) => `${from}〜${to}秒`,
    buffered: (protocol) => `途中のプロキシが${protocol}ストリームをバッファリング`,
    failed: "失敗",
    running: "受信中",
    finished: "完了",
    emptyTitle: "通信の記録はまだありません",
    empty:
      "チャットで質問するか、レースを実行してください。回答のフレームは、ページを開いている間、届いたままの形でここに残ります。",
    toChat: "チャット",
    toRace: "レース",
    noneLeft: {
      all: "フレームはまだ届いていません。",
      text: "この回答にテキストはありません。",
      notices: "この回答に通知はありません。",
      heartbeats: "この回答にハートビートはありません。",
    },
    frame: "フレーム",
    event: (seq) => `イベント${seq}`,
    previous: "前のフレーム",
    next: "次のフレーム",
    close: "閉じる",
    arrived: "到着",
    wasSent: "送信",
    gapBefore: "直前の間隔",
    elsewhere: (protocol) => `${protocol}でのサイズ`,
    bytesCount: (bytes) => `${bytes}バイト`,
    framing: {
      rest: (bytes) => `1行、${bytes}バイト`,
      sse: (bytes) => `1イベント、${bytes}バイト`,
      websocket: (header, payload) => `テキスト、最終、${header} + ${payload}バイト`,
      grpcweb: (header, payload) => `メッセージ、${header} + ${payload}バイト`,
      request: (bytes) => `本文、${bytes}バイト`,
    },
    decoded: "デコード結果",
    bytes: "バイト列",
    more: (bytes) => `ほか${bytes}バイト`,
  },
};
