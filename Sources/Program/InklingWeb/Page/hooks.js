// Functions of main.js that the modules below it call.

export const hooks = {};
