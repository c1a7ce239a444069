import type { Progress, StageProgress } from '../shared/contracts/progress.js';

const MARKS: Record<StageProgress['state'], string> = {
  pending: '·',
  running: '▶',
  done: '✔',
  reused: '↺',
  failed: '✖',
  halted: '⏸',
  cancelled: '⏹',
};

/** Table cells must not break the table, whatever a failure message holds. */
function cell(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .replaceAll('|', '\\|')
    .slice(0, 200);
}

/** The Markdown that the Web UI shows as the workflow's current details. */
export function currentDetails(progress: Progress): string {
  const lines = [`**${cell(progress.recipe)}** — ${progress.state}`, ''];
  if (progress.halt !== undefined) {
    lines.push(
      `⏸ **Halted in ${cell(progress.halt.stage)}**: ${cell(progress.halt.type)}: ${cell(progress.halt.message)}`
    );
    lines.push('', cell(progress.halt.cure), '');
  }
  if (progress.pause !== undefined)
    lines.push(
      `⏸ **Paused after ${cell(progress.pause.stages.join(', '))}**: decide continue, retryFromStage or abort.`,
      ''
    );
  for (const warning of progress.warnings ?? []) lines.push(`⚠ ${cell(warning)}`, '');
  lines.push('| stage | state | queue | retries | note |', '| --- | --- | --- | --- | --- |');
  for (const stage of progress.stages) {
    lines.push(
      `| ${cell(stage.name)} | ${MARKS[stage.state]} ${stage.state} | ${cell(stage.queue)} | ${stage.retries} | ${cell(stage.note ?? '')} |`
    );
  }
  const arms = Object.entries(progress.arms);
  if (arms.length > 0) {
    lines.push('', '| arm | phase | step | reward | KL | tokens/s |', '| --- | --- | --- | --- | --- | --- |');
    for (const [name, arm] of arms) {
      const reward = arm.rewards.at(-1);
      lines.push(
        `| ${cell(name)} | ${arm.phase} | ${arm.step}/${arm.totalSteps} | ${reward === undefined ? '' : reward.toFixed(3)} | ${arm.kl?.toFixed(4) ?? ''} | ${arm.tokensPerSecond ?? ''} |`
      );
    }
  }
  if (progress.verdict !== undefined)
    lines.push('', `**Verdict: ${progress.verdict.outcome}.** ${cell(progress.verdict.sentence)}`);
  return lines.join('\n');
}
