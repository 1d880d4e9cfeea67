/** The Markdown renderer and the highlighter of data. They share the highlighting engine and are loaded as one script when first needed. */
import Box from "@mui/material/Box";
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { useMemo, useRef } from "react";
import type { Options } from "react-markdown";
import ReactMarkdown from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { CopyIcon } from "./copy-button";
import type { Marks } from "./markdown-marks";
import { MARK_TAG, rehypeMarks, extractMarks } from "./markdown-marks";
import type { DataFormat } from "./structured-text";

const LANGUAGES = { bash, sh: bash, shell: bash, console: bash, diff, go, ini, toml: ini, json, python, sql, yaml, yml: yaml };

const HIGHLIGHT: [typeof rehypeHighlight, object] = [rehypeHighlight, { languages: LANGUAGES, detect: false }];
const REMARK: Options["remarkPlugins"] = [remarkGfm];

const LINE_BREAK = /^<br\s*\/?>$/i;
const BLOCK_PARENTS: ReadonlySet<string> = new Set(["root", "blockquote", "listItem", "footnoteDefinition"]);

/** HTML tags are shown as text: most of them are placeholders such as `<pod-name>`. */
const HTML_AS_TEXT: Options["remarkRehypeOptions"] = {
  handlers: {
    html(_, { value }: { value: string }, parent: { type: string } | undefined) {
      if (LINE_BREAK.test(value)) return { type: "element", tagName: "br", properties: {}, children: [] };
      const text = { type: "text" as const, value };
      return parent && BLOCK_PARENTS.has(parent.type) ? { type: "element", tagName: "p", properties: {}, children: [text] } : text;
    },
  },
};

const COMPONENTS: Options["components"] = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  // A link instead of an image, which would reveal to its server that this page is being read.
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener nofollow">
      {alt === undefined || alt === "" ? "picture" : alt}
    </a>
  ),
  table: ({ children }) => <table tabIndex={0}>{children}</table>,
};

export function MarkdownRenderer({ text, marks }: { text: string; marks?: Marks | undefined }) {
  const { Mark, spansOf } = marks ?? {};
  const { text: source, markTexts } = useMemo(() => extractMarks(text, spansOf?.(text) ?? []), [text, spansOf]);
  // Marks and highlighting come after the sanitiser: it would remove their elements, which are safe.
  const rehype = useMemo((): Options["rehypePlugins"] => [rehypeSanitize, [rehypeMarks, markTexts], HIGHLIGHT], [markTexts]);
  const components = useMemo((): Options["components"] => (Mark ? { ...COMPONENTS, [MARK_TAG]: ({ children }: { children?: unknown }) => <Mark text={String(children)} /> } : COMPONENTS), [Mark]);
  return (
    <ReactMarkdown remarkPlugins={REMARK} remarkRehypeOptions={HTML_AS_TEXT} rehypePlugins={rehype} components={components}>
      {source}
    </ReactMarkdown>
  );
}

const COPY = {
  position: "absolute",
  top: 4,
  right: 4,
  bgcolor: "background.paper",
  borderRadius: 1,
  opacity: 0,
  "*:hover > &, *:focus-within > &": { opacity: 1 },
  "@media (hover: none)": { opacity: 1 },
} as const;

function CodeBlock({ children }: { children: ReactNode }) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <Box className="code-block" sx={{ position: "relative" }}>
      {/* Focusable, so that it can be scrolled by keyboard. */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
      <Box sx={COPY}>
        <CopyIcon text={() => code.current?.textContent.trimEnd() ?? ""} label="Copy this code" />
      </Box>
    </Box>
  );
}

/** A part of a line with the CSS class of the highlighter; "" for none. */
export interface Token {
  kind: string;
  text: string;
}

// The time to highlight a line grows with the square of its length; this length takes milliseconds.
const LONGEST_HIGHLIGHTED = 2_000;

const highlighter = createLowlight({ json, yaml });

/** The highlighted parts of a line of JSON or YAML. */
export function tokensOf(line: string, format: DataFormat): Token[] {
  if (format === "text" || line.length > LONGEST_HIGHLIGHTED) return [{ kind: "", text: line }];
  return highlighter.highlight(format, line).children.map((node) => ({
    kind: node.type === "element" ? String(node.properties["className"] ?? "") : "",
    text: textOf(node),
  }));
}

type HighlightedNode = ReturnType<typeof highlighter.highlight>["children"][number];

function textOf(node: HighlightedNode): string {
  if (node.type === "text") return node.value;
  return node.type === "element" ? node.children.map(textOf).join("") : "";
}
