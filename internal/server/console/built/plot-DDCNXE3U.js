import{a}from"./chunk-K46JGFTO.js";import"./chunk-BS2245WB.js";import"./chunk-PXR4TY2I.js";export{a as default};
