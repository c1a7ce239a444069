/**
 * Versions of the stages' code. Raise one when its stage would give other bytes from the same inputs: results of the older
 * code are then no longer reused.
 */
export const CODE_VERSIONS = {
  data: '1',
  screen: '1',
  rollout: '1',
  convert: '1',
  train: '2',
  checkpoint: '1',
  evaluate: '1',
  judge: '2',
  report: '1',
} as const;

export type CodeStage = keyof typeof CODE_VERSIONS;

export function codeVersion(stage: CodeStage): string {
  return `${stage}-${CODE_VERSIONS[stage]}`;
}
