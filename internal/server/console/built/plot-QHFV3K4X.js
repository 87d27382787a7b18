import{a}from"./chunk-PLWLCTSF.js";import"./chunk-CN66VPA4.js";export{a as default};
