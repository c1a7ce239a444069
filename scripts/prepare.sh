#!/bin/sh
# Checks what a build needs, naming what is missing and how to get it, and installs the npm packages when node_modules is not
# what package-lock.json says. Python and the Temporal programs are looked for later, when a server is first needed.
set -eu
cd "$(dirname "$0")/.."

missing() {
  echo "error: $1" >&2
  echo "fix: $2" >&2
  exit 2
}

command -v node >/dev/null 2>&1 ||
  missing "Node is not on PATH (20.19 or newer is needed)" "Install it from https://nodejs.org or with your version manager (nvm install 20)."
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  missing "Node $(node --version) is too old: 20.19 or newer is needed" "Install a newer one from https://nodejs.org or with your version manager (nvm install 20)."
command -v npm >/dev/null 2>&1 ||
  missing "npm is not on PATH" "It comes with Node (https://nodejs.org); on Debian and Ubuntu: apt-get install npm."

# The hash of what was installed for which Node, written after npm ci has succeeded.
want="$(node -e '
  const { createHash } = require("node:crypto");
  const { readFileSync } = require("node:fs");
  const hash = createHash("sha256");
  hash.update(readFileSync("package-lock.json"));
  console.log(hash.digest("hex"), process.versions.modules, process.platform, process.arch);
')"
stamp=node_modules/.memagent-installed
have="$(cat "$stamp" 2>/dev/null || true)"
if [ "$want" != "$have" ]; then
  echo "installing npm packages"
  npm ci --no-audit --no-fund --loglevel=error || missing "npm ci failed" "Read its message above; a proxy or registry is set with npm config set registry URL."
  echo "$want" >"$stamp"
fi
