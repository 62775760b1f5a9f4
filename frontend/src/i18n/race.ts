// The words of Race.

import type { LaneState } from "../race/lane";
import type { Dictionaries } from "./language";

export interface RaceWords {
  readonly title: string;
  readonly recording: (prompt: string, protocol: string) => string;
  readonly automatic: string;
  readonly ask: string;
  readonly prompt: string;
  readonly example: string;
  readonly model: string;
  readonly maxTokens: string;
  readonly run: string;
  readonly again: string;
  readonly stop: string;
  readonly answers: string;
  readonly hint: string;
  readonly firstToken: string;
  readonly rate: string;
  readonly perSecond: string;
  readonly longest: string;
  readonly states: Readonly<Record<LaneState, string>>;
  readonly mismatch: string;
  readonly lost: string;
  readonly showText: string;
  readonly arrivals: string;
  readonly arrivalsNote: string;
  readonly gaps: string;
  readonly gapsNote: string;
  readonly bytes: string;
  readonly table: string;
  readonly tableHeads: readonly string[];
  readonly nothingYet: string;
  readonly done: (count: number) => string;
}

export const RACE_WORDS: Dictionaries<RaceWords> = {
  en: {
    title: "Race",
    recording: (prompt, protocol) => `Race over ${protocol}: ${prompt}`,
    automatic: "default model",
    ask: "One prompt, four protocols",
    prompt: "Prompt",
    example: "Explain back-pressure in asyncio to a colleague.",
    model: "Model",
    maxTokens: "Longest answer",
    run: "Run",
    again: "Run again",
    stop: "Stop",
    answers: "Answers",
    hint: "Four generations start at once, one for each protocol, from the same request at temperature 0.",
    firstToken: "First token",
    rate: "Rate",
    perSecond: "tok/s",
    longest: "Longest gap",
    states: {
      waiting: "waiting",
      streaming: "streaming",
      reconnecting: "reconnecting",
      verified: "verified",
      unverified: "not verified",
      finished: "finished",
      stopped: "stopped",
      failed: "failed",
      lost: "incomplete",
    },
    mismatch: "The digest of this text is not the one the server sent.",
    lost: "The rest of this answer can no longer be fetched.",
    showText: "Show the text",
    arrivals: "Arrivals",
    arrivalsNote: "a line is an event, a ring the end",
    gaps: "Gaps between events",
    gapsNote: "ms, log; bar: middle 90 %, line: longest",
    bytes: "Bytes per token",
    table: "Figures as a table",
    tableHeads: [
      "Protocol",
      "First token",
      "Rate",
      "Gap: 5 %",
      "Median",
      "95 %",
      "Longest",
      "Bytes per token",
      "Events",
    ],
    nothingYet: "no events yet",
    done: (count) => `Race finished, ${count} of 4 answers verified`,
  },
  ja: {
    title: "レース",
    recording: (prompt, protocol) => `レース（${protocol}）：${prompt}`,
    automatic: "既定のモデル",
    ask: "一つの質問を四つのプロトコルで",
    prompt: "質問",
    example: "asyncioのバックプレッシャーを同僚に説明してください。",
    model: "モデル",
    maxTokens: "最大トークン数",
    run: "実行",
    again: "再実行",
    stop: "停止",
    answers: "回答",
    hint: "同じリクエスト（temperature 0）から、プロトコルごとに一つずつ、四つの生成を同時に始めます。",
    firstToken: "初回トークン",
    rate: "速度",
    perSecond: "/秒",
    longest: "最大間隔",
    states: {
      waiting: "待機中",
      streaming: "受信中",
      reconnecting: "再接続中",
      verified: "照合済み",
      unverified: "照合できません",
      finished: "完了",
      stopped: "停止しました",
      failed: "失敗",
      lost: "未完",
    },
    mismatch: "本文のダイジェストがサーバーのものと一致しません。",
    lost: "この回答の続きは取得できません。",
    showText: "本文を表示",
    arrivals: "到着",
    arrivalsNote: "線はイベント、輪は完了",
    gaps: "イベントの間隔",
    gapsNote: "ms・対数。帯は中央90%、線は最大",
    bytes: "トークンあたりのバイト数",
    table: "数値を表で見る",
    tableHeads: [
      "プロトコル",
      "初回トークン",
      "速度",
      "間隔の5%",
      "中央値",
      "95%",
      "最大",
      "トークンあたりのバイト数",
      "イベント",
    ],
    nothingYet: "イベントはまだありません",
    done: (count) => `レースが終わりました。4件中${count}件を照合済みです。`,
  },
};
