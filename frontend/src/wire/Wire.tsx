// Wire: the frames of an answer as they came.
import { useSyncExternalStore } from "react";
import { type Recordings, recordings as shared } from "../app/recordings";
import { go, href, useRoute } from "../app/routes";
import { useSlowly } from "../charts/useSlowly";
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS } from "../i18n/wire";
import { buttonClass } from "../ui/Button";
import { RecordingView } from "./RecordingView";
import "../styles/wire.css";

export function Wire({ recordings = shared }: { recordings?: Recordings }) {
  const { id } = useRoute();
  const version = useSlowly(useSyncExternalStore(recordings.subscribe, recordings.version));
  const list = recordings.list();
  const recording = (id ? recordings.get(id) : undefined) ?? list[0];
  if (!recording) return <Nothing />;
  return (
    <RecordingView
      key={recording.id}
      recording={recording}
      recordings={list}
      version={version}
      onChoose={(chosen) => go("wire", chosen)}
    />
  );
}

function Nothing() {
  const words = useDictionary(WIRE_WORDS);
  return (
    <main className="wire nothing">
      <div>
        <h1>{words.emptyTitle}</h1>
        <p>{words.empty}</p>
        <p className="do">
          <a className={buttonClass("line")} href={href("chat")}>
            {words.toChat}
          </a>
          <a className={buttonClass("line")} href={href("race")}>
            {words.toRace}
          </a>
        </p>
      </div>
    </main>
  );
}
