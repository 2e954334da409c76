// What VS Code runs once the extension was removed, at its next start and before it deletes the extension's storage: the
// server in there deletes what it keeps elsewhere. One that the user installed does not: other editors may use it.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { NOTE, run } from "./processes";

const note = join(__dirname, NOTE);
const program = existsSync(note) ? readFileSync(note, "utf8") : "";
const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
if (existsSync(program)) void run(program, ["forget"], dirname(program), never, () => undefined);
