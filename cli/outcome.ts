import { EXIT } from '../shared/contracts/user-error.js';
import type { VerdictFacts } from '../shared/contracts/progress.js';
import { failureFacts } from './describe-error.js';
import type { Snapshot } from './pipeline-client.js';
import { cleanText } from './terminal/clean-text.js';

/** 0 passed, 1 not passed or failed, 2 not comparable, 130 while it still runs (the watcher was interrupted). */
export function exitCodeOf(snapshot: Snapshot | undefined): number {
  if (snapshot === undefined || snapshot.status === 'RUNNING') return EXIT.interrupted;
  if (snapshot.status !== 'COMPLETED') return EXIT.failed;
  return verdictCode(snapshot.progress?.verdict);
}

/** Exit code of a verdict: 0 passed (or none asked for), 1 not passed, 2 not comparable. */
export function verdictCode(verdict: Pick<VerdictFacts, 'outcome'> | undefined): number {
  switch (verdict?.outcome) {
    case 'passed':
    case undefined:
      return EXIT.ok;
    case 'not-passed':
      return EXIT.failed;
    case 'not-comparable':
      return EXIT.usage;
  }
}

/** How a run ended: verdict and report, or what failed and how to fix it. */
export function outcomeText(snapshot: Snapshot): string {
  const { progress, failure } = snapshot;
  const lines: string[] = [];
  if (progress?.verdict !== undefined)
    lines.push(`verdict: ${progress.verdict.outcome}. ${cleanText(progress.verdict.sentence, 1_500)}`);
  if (snapshot.status === 'COMPLETED' && progress?.runDirectory !== undefined)
    lines.push(`report:  ${cleanText(progress.runDirectory, 500)}/report.html`);
  if (failure !== undefined) {
    const facts = failureFacts(failure.type, failure.message, failure.details);
    const [headline = '', ...rest] = cleanText(facts.message, 4_000).split('\n');
    const problems = facts.problems?.length ? facts.problems.map((problem) => `  - ${problem}`) : rest;
    lines.push(
      `failed:  ${cleanText(failure.type, 80)}: ${headline}`,
      ...problems.slice(0, 20).map((line) => cleanText(line, 400))
    );
    if (facts.cure !== undefined) lines.push(`fix:     ${cleanText(facts.cure, 1_000)}`);
  } else if (snapshot.status === 'CANCELLED') {
    lines.push('cancelled: starting again with the same id goes on from what is there');
  } else if (snapshot.status === 'TERMINATED') {
    lines.push('terminated by somebody: starting again with the same id goes on from what is there');
  }
  return lines.join('\n');
}
