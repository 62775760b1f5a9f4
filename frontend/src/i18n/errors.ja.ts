// 失敗の説明：何が起きたか、何をすればよいか。コードは docs/protocol.md のもの。

import type { ErrorWords } from "./errors.en";

const again = "再試行するか、別のモデルを選んでください。";
const gone = {
  title: "この回答の続きは取得できません。",
  todo: "もう一度質問するか、このまま残してください。",
};

export const errorsJa: Record<string, ErrorWords> = {
  upstream_unavailable: {
    title: "エンジンが停止しています。",
    todo: "起動するか、別のモデルを選んでください。",
  },
  model_not_found: { title: "エンジンにこのモデルがありません。", todo: "別のモデルを選んでください。" },
  overloaded: { title: "混み合っています。", todo: "少し待って再試行してください。" },
  rate_limited: { title: "リクエストが多すぎます。", todo: "少し待って再試行してください。" },
  quota_exceeded: {
    title: "エンジンの利用枠を使い切りました。",
    todo: "提供元で枠を増やすか、別のモデルを選んでください。",
  },
  draining: { title: "サーバーが再起動しています。", todo: "少し待って再試行してください。" },
  upstream_error: { title: "エンジンがリクエストを拒否しました。", todo: again },
  upstream_timeout: { title: "エンジンの応答開始に時間がかかりすぎました。", todo: again },
  upstream_disconnected: { title: "エンジンとの接続が切れました。", todo: again },
  upstream_incomplete: { title: "回答の途中でエンジンが終了しました。", todo: again },
  upstream_stalled: { title: "エンジンの応答が止まりました。", todo: again },
  upstream_bad_chunk: { title: "エンジンの応答を読み取れませんでした。", todo: again },
  store_unavailable: { title: "回答のストアが応答しません。", todo: "少し待って再試行してください。" },
  context_length_exceeded: { title: "モデルの上限を超えています。", todo: "短くしてください。" },
  too_large: {
    title: "サーバーの上限を超えています。",
    todo: "メッセージを短くするか、新しい会話を始めてください。",
  },
  content_filter: {
    title: "エンジンのフィルターがこのメッセージを拒否しました。",
    todo: "別の言い方で送ってください。",
  },
  invalid_request: {
    title: "サーバーがこのリクエストを受け付けません。",
    todo: "設定を確かめて、もう一度送信してください。",
  },
  not_found: gone,
  position_lost: gone,
  conflict: {
    title: "このメッセージは別の設定で送信済みです。",
    todo: "もう一度送信してください。",
  },
  unauthenticated: {
    title: "サーバーが利用者を確認できません。",
    todo: "サインインして再送信してください。",
  },
  forbidden: { title: "この操作は許可されていません。", todo: "サーバーの管理者に確認してください。" },
  internal: {
    title: "サーバー内部で問題が起きました。",
    todo: "再試行してください。続く場合はサーバーのログに理由があります。",
  },
  unreachable: { title: "サーバーに接続できません。", todo: "ネットワークを確かめて再試行してください。" },
  disconnected: { title: "接続が失われました。", todo: "再試行してください。" },
  unknown: { title: "回答に失敗しました。", todo: again },
};
