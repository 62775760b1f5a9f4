// The page's entry: styles, language and theme, and the mount.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { applyToDocument } from "./app/preferences";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/controls.css";
import "./styles/facts.css";
import "./styles/floating.css";
import "./styles/chat.css";
import "./styles/thread.css";
import "./styles/composer.css";
import "./styles/markdown.css";
import "./styles/side.css";
import "./styles/panel.css";
import "./styles/drawer.css";
import "./styles/narrow.css";

applyToDocument();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
