// What an answer has besides its text: reasoning, a refusal, calls of tools, what the server noticed.

import { useWords } from "../i18n/language";
import { Notice } from "../ui/Notice";
import type { Answer } from "./conversation";

export function Extras({ answer }: { readonly answer: Answer }) {
  const { answer: words } = useWords();
  return (
    <>
      {answer.restarted && <Notice>{words.restarted}</Notice>}
      {answer.filtered && <Notice>{words.filtered}</Notice>}
      {answer.reasoning && (
        <details className="extra">
          <summary>{words.reasoning}</summary>
          <p>{answer.reasoning}</p>
        </details>
      )}
      {answer.refusal && <Notice title={words.refused}>{answer.refusal}</Notice>}
      {answer.toolCalls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are known by their index
        <details key={index} className="extra">
          <summary>{words.toolCall(call.name)}</summary>
          <pre>{call.arguments}</pre>
        </details>
      ))}
    </>
  );
}
