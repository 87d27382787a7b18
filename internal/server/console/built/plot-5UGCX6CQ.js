import{a}from"./chunk-WCZ36XIF.js";import"./chunk-6AQEZQCH.js";export{a as default};
