// Before the first message: what is special here, and three things to try.

import { useWords } from "../i18n/language";
import { Icon } from "../ui/Icon";

export function Empty({ onChoose }: { readonly onChoose: (prompt: string) => void }) {
  const { empty } = useWords();
  return (
    <div className="empty">
      <h2>{empty.title}</h2>
      <p>{empty.text}</p>
      <ul>
        {empty.prompts.map((prompt) => (
          <li key={prompt}>
            <button type="button" className="b" onClick={() => onChoose(prompt)}>
              <span>{prompt}</span>
              <Icon name="up" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
