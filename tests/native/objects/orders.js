function hot(n){let s=0;for(let i=0;i<n;i++){s+=Math.sqrt(i)*(i%7);}return s}
let t=0;for(let k=0;k<200;k++){t+=hot(20000)}console.log(t);
