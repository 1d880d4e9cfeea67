/** What is loaded late, as one script: the Markdown renderer and the highlighter of data share their engine. */
export { tokensOf } from "./data-highlighter";
export { MarkdownRenderer as default } from "./markdown-renderer";
