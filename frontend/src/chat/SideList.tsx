// The conversations of this browser, by day, with a search over names and words.

import { useDeferredValue, useState } from "react";
import { go } from "../app/routes";
import { useWords } from "../i18n/language";
import { Button, IconButton } from "../ui/Button";
import { ConversationRow } from "./ConversationRow";
import { byDay, matches } from "./days";
import { useStore } from "./service";

interface Props {
  readonly shownId: string | null;
  readonly onChosen?: () => void;
}

export function SideList({ shownId, onChosen }: Props) {
  const { list } = useWords();
  const [sought, setSought] = useState<string | null>(null);
  const begin = () => {
    go("chat");
    onChosen?.();
  };
  return (
    <>
      <header>
        <Button kind="line" className="grow" icon="plus" onClick={begin}>
          {list.new}
        </Button>
        <IconButton
          icon="find"
          label={list.search}
          aria-pressed={sought !== null}
          onClick={() => setSought(sought === null ? "" : null)}
        />
      </header>
      {sought !== null && <Search value={sought} onChange={setSought} />}
      <Days sought={sought ?? ""} shownId={shownId} onChosen={onChosen} />
    </>
  );
}

function Search(props: { readonly value: string; readonly onChange: (value: string | null) => void }) {
  const { list } = useWords();
  return (
    <div className="search">
      <input
        type="search"
        className="in"
        aria-label={list.searchLabel}
        placeholder={list.searchLabel}
        value={props.value}
        // biome-ignore lint/a11y/noAutofocus: the field was just asked for
        autoFocus
        onChange={(event) => props.onChange(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && props.onChange(null)}
      />
    </div>
  );
}

interface DaysProps {
  readonly sought: string;
  readonly shownId: string | null;
  readonly onChosen: (() => void) | undefined;
}

function Days({ sought, shownId, onChosen }: DaysProps) {
  const words = useWords();
  const { conversations, loaded, kept } = useStore();
  const deferred = useDeferredValue(sought);
  const found = conversations.filter((conversation) => matches(conversation, deferred));
  const empty = conversations.length === 0 ? words.list.empty : words.list.none;
  return (
    <nav className="list" aria-label={words.bar.conversations}>
      {byDay(found, Date.now(), words).map((day) => (
        <section key={day.name}>
          <h2>{day.name}</h2>
          <ul>
            {day.conversations.map((conversation) => (
              <ConversationRow
                key={conversation.id}
                conversation={conversation}
                isShown={conversation.id === shownId}
                onChosen={onChosen}
              />
            ))}
          </ul>
        </section>
      ))}
      {loaded && found.length === 0 && <p className="none">{empty}</p>}
      {!kept && <p className="none">{words.list.notKept}</p>}
    </nav>
  );
}
