import { ACTOR_ROUTES } from './actor-routes.js';
import { chatCompletion } from './chat.js';
import { CONTROL_ROUTES } from './control-routes.js';
import { generate } from './generate.js';
import { INFO_ROUTES } from './info-routes.js';
import type { RouteTable } from './route-types.js';

export const ROUTES: RouteTable = {
  '/generate': { POST: generate, PUT: generate },
  '/v1/chat/completions': { POST: chatCompletion },
  ...INFO_ROUTES,
  ...CONTROL_ROUTES,
  ...ACTOR_ROUTES,
};
