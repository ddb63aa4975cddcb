/** Everything behind the start of the process: the command line, and what opens services for it. Loaded by `load-app`. */
export const loadCli = () => import('./cli/run.js');
export const loadErrors = () => import('./errors/flywheel-error.js');
export const loadOpeners = () => import('./compose/context.js');
