import * as Plot from '@observablehq/plot';
import { html, type Html } from '../html.js';
import { movingMean } from '../number-table.js';
import { rowRewardNote } from '../../scoring/reward-source.js';
import type { RunData } from '../run-data.js';
import { figure, modelColour, modelLegend, responsivePlot, stepTicks } from './figure.js';

/** Steps of the moving mean and of the first and last window. */
export const WINDOW = 10;

/** Reward of every arm over the steps: each step's mean faintly, the moving mean boldly, repeated attempts marked. */
export function rewardChart(data: RunData): Html {
  const arms = data.arms.filter(({ rewards }) => rewards.length > 0);
  const lastStep = Math.max(...arms.flatMap(({ rewards }) => rewards.map(({ step }) => step)), 1);
  const resumes = (data.progress?.attempts ?? [])
    .filter(({ stage, step }) => stage.startsWith('train:') && step !== undefined)
    .map(({ stage, step }) => ({ step: step ?? 0, arm: stage.slice('train:'.length) }));
  const make = (width: number): Plot.PlotOptions => {
    const narrow = width < 600;
    return {
      width,
      height: narrow ? 300 : 360,
      marginLeft: 44,
      marginRight: 16,
      marginBottom: 40,
      marginTop: 24,
      x: {
        label: 'step',
        domain: [0, lastStep],
        ticks: stepTicks(lastStep, narrow ? 5 : 10),
        tickFormat: ',d',
        tickSize: 0,
        labelArrow: 'none',
      },
      y: {
        label: 'mean reward of the step',
        domain: [0, 1],
        grid: true,
        ticks: 5,
        tickSize: 0,
        tickPadding: 8,
        labelArrow: 'none',
      },
      marks: [
        Plot.ruleY([0], { stroke: 'var(--axis)' }),
        Plot.ruleX(resumes, { x: 'step', stroke: 'var(--warn)', strokeDasharray: '2,3', strokeWidth: 1.5 }),
        ...arms.flatMap((arm, at) => armMarks(data, arm, at)),
      ],
    };
  };
  const last = arms.map(({ name, rewards }) => `${name} ends at ${rewards.at(-1)?.reward.toFixed(2) ?? '–'}`);
  const label = `Line chart of the mean reward over ${lastStep + 1} steps: ${last.join(', ')}.`;
  const note = rowRewardNote(arms);
  const caption = html`Thin: mean reward of a step’s trajectories. Bold: mean of the last ${WINDOW}
  steps.${resumes.length > 0 && ' Dashed: a step that was repeated after a failure.'}${note !== undefined && ` ${note}`}`;
  return figure(
    responsivePlot(make, label),
    caption,
    modelLegend(
      data.models,
      arms.map(({ name }) => name)
    )
  );
}

function armMarks(data: RunData, arm: RunData['arms'][number], at: number): Plot.Markish[] {
  const stroke = modelColour(data.models, arm.name);
  const means = movingMean(
    arm.rewards.map(({ reward }) => reward),
    WINDOW
  );
  const points = arm.rewards.map(({ step, reward }, row) => ({ step, reward, mean: means[row] ?? NaN }));
  const last = points.at(-1);
  // The first arm is wider, so that it can be seen beneath one that runs along it.
  return [
    Plot.line(points, { x: 'step', y: 'reward', stroke, strokeWidth: 1, strokeOpacity: 0.35 }),
    Plot.line(points, { x: 'step', y: 'mean', stroke, strokeWidth: at === 0 ? 4 : 2 }),
    ...(last === undefined ? [] : [Plot.dot([last], { x: 'step', y: 'mean', r: at === 0 ? 5 : 3.5, fill: stroke })]),
  ];
}
