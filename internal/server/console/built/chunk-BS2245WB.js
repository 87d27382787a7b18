function n(e){let o=document.createElement("span");o.style.color=`var(${e})`,document.body.append(o);let t=getComputedStyle(o).color;return o.remove(),t}export{n as a};
