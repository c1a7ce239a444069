import type {
  ConvertActivities,
  DataActivities,
  EvaluateActivities,
  RolloutActivities,
  SetAsideArgs,
  TrainActivities,
  WorkflowQueueActivities,
} from '../shared/contracts/activities.js';
import { closeArm, openArm } from './arm.js';
import { convertCheckpoint } from './checkpoint.js';
import { convertRollouts } from './conversion.js';
import { prepareDataActivity } from './data.js';
import { evaluateActivities } from './evaluation.js';
import type { ActivityPorts } from './ports.js';
import { judgeRun, publishReport } from './report.js';
import { resolveRecipe } from './resolve.js';
import { rolloutActivities } from './rollout.js';
import { activity } from './scope.js';
import { setStageAside } from './set-aside.js';
import { serverActivities } from './server.js';
import { trainActivities } from './training.js';

/** Activity implementations by role; the workers register each role's on its own task queue. */
export interface ActivitiesByRole {
  data: DataActivities;
  rollout: RolloutActivities;
  train: TrainActivities;
  convert: ConvertActivities;
  evaluate: EvaluateActivities;
  workflowQueue: WorkflowQueueActivities;
}

export function createActivities(ports: ActivityPorts): ActivitiesByRole {
  return {
    data: {
      resolveRecipe: activity((args: { pipelineId: string; recipe: unknown }, scope) =>
        resolveRecipe({ ...args, attempt: scope.attempt }, ports, scope)
      ),
      prepareData: activity((args, scope) => prepareDataActivity(args, scope, ports)),
      setStageAside: activity((args: SetAsideArgs) => setStageAside(args, ports)),
      openArm: activity(openArm),
      convertRollouts: activity(convertRollouts),
      closeArm: activity(closeArm),
      judge: activity(judgeRun),
      publishReport: activity(publishReport),
    },
    rollout: rolloutActivities(ports),
    train: trainActivities(ports),
    convert: { convertCheckpoint: activity((args, scope) => convertCheckpoint(args, scope, ports)) },
    evaluate: evaluateActivities(ports),
    workflowQueue: serverActivities(),
  };
}
