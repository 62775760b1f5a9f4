// The page's entry: nothing but the mount.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/tokens.css";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(<StrictMode>Polystream</StrictMode>);
}
